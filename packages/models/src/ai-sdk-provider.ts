/** Where `gen_ai.provider.name` is not the AI SDK's name; of names that begin alike the longer stands first. */
const NAMES: readonly (readonly [sdk: string, name: string])[] = [
  ['google.vertex', 'gcp.vertex_ai'],
  ['vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
]

/** `openai` of `openai.responses`, `aws.bedrock` of `amazon-bedrock`: the AI SDK adds the wire and has its own names. */
export function providerName(provider: string): string {
  const known = NAMES.find(([sdk]) => provider.startsWith(sdk))
  return known?.[1] ?? (provider.split('.')[0] || 'unknown')
}
