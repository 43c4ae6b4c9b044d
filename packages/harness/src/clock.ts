/**
 * The harness's clock: milliseconds of the machine's monotonic clock, with fractions. All times in its logs use it. It
 * is the same clock in every process of a machine, so times of a server and of a client can be subtracted.
 */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
