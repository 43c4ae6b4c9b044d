/** An error of the benchmark's user: printed as one line, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
