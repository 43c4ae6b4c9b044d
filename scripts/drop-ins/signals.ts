/** Ends this process on Ctrl-C and similar signals, after cleaning up. */

/** The numbers of the signals, which are part of the exit code. */
const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

type SignalName = keyof typeof NUMBERS

/** Milliseconds. A runner such as tsx forwards a signal that the terminal has already sent to the whole group. */
const SAME = 1_000

/** The reason of an abort. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError'
  readonly exitCode: number

  constructor(signal: SignalName) {
    super(`stopped by ${signal}`)
    this.exitCode = 128 + NUMBERS[signal]
  }
}

/**
 * Returns a signal that the first signal of the process aborts with a `StoppedError`. Another one, a second later or more, calls `leave` with the
 * exit code.
 */
export function stoppedBySignals(from: Pick<NodeJS.Process, 'on'>, leave: (exitCode: number) => void): AbortSignal {
  const stop = new AbortController()
  let first: number | undefined
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const)
    from.on(name, () => {
      const error = new StoppedError(name)
      if (first === undefined) {
        first = performance.now()
        stop.abort(error)
      } else if (performance.now() - first >= SAME) leave(error.exitCode)
    })
  return stop.signal
}
