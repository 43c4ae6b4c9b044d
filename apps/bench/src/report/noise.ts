/** A difference below this share of the time is not claimed as one. */
export const NOISE = 0.005
