/**
 * The harness's clock: milliseconds of the machine's monotonic clock, with fractions. All times in its logs use it.
 * Every process of a machine has the same clock, so you can subtract times of a server and of a client.
 */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
