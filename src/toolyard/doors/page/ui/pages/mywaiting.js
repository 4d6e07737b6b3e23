// Waiting calls of a member's own clients.

import { waitingCalls } from "../lib/waitingcalls.js";

export const open = (place) => waitingCalls(place, "/my/waiting-calls");
