/** A script that contradicts itself, or is not what was asked for. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError'
}
