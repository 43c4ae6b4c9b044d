/** Writes frames of Server-Sent Events. */

/** A frame with only data, as in OpenAI Chat. */
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

/** The frame of a recorded event; its name is the `type` in it. */
export function recordedEventFrame(event: string): string {
  const type = recordedType(event)
  return type === undefined ? `data: ${event}\n\n` : `event: ${type}\ndata: ${event}\n\n`
}

/** The `type` at the beginning of a recorded event. It is found as text, because a recorded event may not be JSON. */
export function recordedType(event: string): string | undefined {
  return /^\s*\{\s*"type"\s*:\s*"([^"\\]+)"/.exec(event)?.[1]
}
