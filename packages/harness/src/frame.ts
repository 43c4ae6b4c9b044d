/** A piece of a body: one event, or a whole JSON document. */
export interface Frame {
  /** Milliseconds after the request arrived. */
  readonly at: number
  readonly data: string | Uint8Array
  /** The id of the call whose last argument byte is in this frame. */
  readonly argsDone?: string
}
