/** A warning of a run. `source` is `core`, or the name of the middleware that warned. */
export interface Warning {
  readonly code: string
  readonly message: string
  readonly source: string
}
