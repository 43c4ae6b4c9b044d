/** The clock, which is a fake one in most tests. */

/** Does nothing for so many milliseconds, whoever aborts. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
