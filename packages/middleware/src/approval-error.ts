/** Nobody could be asked whether a call may run. It concerns one call alone: the model reads it as an error result. */

export class ApprovalError extends Error {
  override readonly name = 'ApprovalError'
  readonly tool: string

  /** What went wrong is the cause: the model does not read it. */
  constructor(tool: string, cause: unknown) {
    super(`Not run: it could not be asked whether ${tool} may run.`, { cause })
    this.tool = tool
  }
}
