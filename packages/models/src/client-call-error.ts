/** The error for calls that the client would have to run and core cannot run. */

/** Fails the response, because the call would otherwise be lost silently. A retry would not help. */
export class ClientCallError extends Error {
  override readonly name = 'ClientCallError'
  /** The wire's name for it: `custom_tool_call`, `mcp_approval_request` … */
  readonly type: string

  constructor(type: string) {
    super(
      `the response contains a "${type}", which its client must run, and core cannot: do not request such tools through providerOptions, or run them yourself, without core`,
    )
    this.type = type
  }
}
