/** The clock, which is a fake one in most tests. */

/** Does nothing for this many milliseconds, even after an abort. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
