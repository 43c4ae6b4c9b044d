/** Knows which AI SDK providers send a `tool-call` part only when their wire has confirmed that the call is finished. */
const SEALING = /\.(responses|messages)$|^(amazon-bedrock|gateway|google\.generative-ai)$/

/** For other providers, including OpenRouter, the part may only mean that the input parses. */
export function sealsCalls(provider: string): boolean {
  return SEALING.test(provider)
}
