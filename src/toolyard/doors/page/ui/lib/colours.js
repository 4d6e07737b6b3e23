// The colours that tell servers or clients apart on a picture; state has others.

const MOST = 8;
export const OTHERS = "--c0";

// The same name has the same colour, whichever picture it is on, as long as the order stays.
export const colourAt = (at) => (at >= 0 && at < MOST ? `--c${at + 1}` : OTHERS);
