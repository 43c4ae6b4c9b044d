/** A warning of a run. `source` is `core`, or the name of the middleware that warned. */
export interface Warning {
  /** A fixed name for this kind of warning, such as `unknown-tool`. */
  readonly code: string
  /** What happened, for people. */
  readonly message: string
  /** `core`, or the name of the middleware. */
  readonly source: string
}
