/**
 * The harness's clock: milliseconds of the machine's monotonic clock, fractions included. All times in its logs are read from it.
 * It is the same clock in every process of a machine, so a time a server logged may be subtracted from one a client took.
 */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
