/** Warnings for the user where no function for them was given. */

/** Warnings emitted by this process. Each is emitted once, even if every request makes its own `eager()`. */
const emitted = new Set<string>()

/** The maximum number of warnings that a process emits. */
const MOST_WARNINGS = 100

/** Emits a warning of the process; `console.warn` where there is no process. `owner`: the function that warns. */
export function emitWarning(owner: string, code: string, message: string): void {
  if (emitted.has(`${code} ${message}`) || emitted.size > MOST_WARNINGS) return
  emitted.add(`${code} ${message}`)
  if (typeof globalThis.process?.emitWarning === 'function')
    globalThis.process.emitWarning(message, { type: 'MeanwhileWarning', code })
  else console.warn(`${owner}: ${message}`)
}

/** Calls a function of the user. An error does not reach the caller, and neither does the rejection of a promise. */
export function observe(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    Promise.resolve(call()).catch(failed)
  } catch (error) {
    failed(error)
  }
}
