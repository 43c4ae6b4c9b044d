/** The model asks for something that its client is to do, and that core cannot do. */

/** Fails the response: left out, the call would be lost unseen. Asking again would not help. */
export class ClientCallError extends Error {
  override readonly name = 'ClientCallError'
  /** In the word of its wire: `custom_tool_call`, `mcp_approval_request` … */
  readonly type: string

  constructor(type: string) {
    super(
      `the response has a "${type}" for its client, and core cannot run that: do not ask for such tools through providerOptions, or run them yourself, without core`,
    )
    this.type = type
  }
}
