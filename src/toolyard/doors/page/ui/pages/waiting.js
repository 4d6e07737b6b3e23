// Waiting calls: those of everybody, for whoever runs the hub.

import { waitingCalls } from "../lib/waitingcalls.js";

export const open = (place) => waitingCalls(place, "/waiting-calls");
