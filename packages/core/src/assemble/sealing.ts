/** Providers of the AI SDK whose `tool-call` part says that the call is finished: their wires do. */
const SEALING = /\.(responses|messages)$|^(amazon-bedrock|gateway|google\.generative-ai)$/

/** Of others, OpenRouter's among them, that part may say no more than that the input parses. */
export function sealsCalls(provider: string): boolean {
  return SEALING.test(provider)
}
