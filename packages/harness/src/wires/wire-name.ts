/** The wires that the endpoints play. */
export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic'

/** The names of all wires. */
export const WIRE_NAMES: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic']
