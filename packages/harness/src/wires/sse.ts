/** Frames of Server-Sent Events. */

/** A frame that is data alone, as OpenAI Chat sends it. */
export function dataFrame(payload: object): string {
  return `data: ${JSON.stringify(payload)}\n\n`
}

export interface EventPayload {
  readonly type: string
  readonly [key: string]: unknown
}

/** A frame that names its event, which is also the payload's `type`. */
export function eventFrame(payload: EventPayload): string {
  return `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`
}

/** The frame of an event that is JSON already; its name is the `type` in it. */
export function jsonEventFrame(json: string): string {
  const { type } = JSON.parse(json) as { type?: unknown }
  return typeof type === 'string' ? `event: ${type}\ndata: ${json}\n\n` : `data: ${json}\n\n`
}
