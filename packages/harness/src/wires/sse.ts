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

/** The frame of an event as it was recorded; its name is the `type` in it. */
export function recordedEventFrame(event: string): string {
  const type = recordedType(event)
  return type === undefined ? `data: ${event}\n\n` : `event: ${type}\ndata: ${event}\n\n`
}

/** The `type` a recorded event begins with: found as text, because what was recorded need not be JSON. */
export function recordedType(event: string): string | undefined {
  return /^\s*\{\s*"type"\s*:\s*"([^"\\]+)"/.exec(event)?.[1]
}
