/** What has changed in the tools of a server. */

/** A tool whose definition is not the known one. */
export interface Drift {
  /** The name of the server, as in the options. */
  readonly server: string
  /** The server's name of the tool. */
  readonly name: string
  /** The hash of the definition that was known: when the run began, or in `pin`. */
  readonly before: string
  /** The hash of the definition now; absent if the server no longer has the tool. */
  readonly now?: string
}
