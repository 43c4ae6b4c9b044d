/** The format of a request. */
export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic'
