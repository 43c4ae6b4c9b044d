/**
 * The providers whose `gen_ai.provider.name` differs from the AI SDK's name. If one name is the beginning of another,
 * the longer one is first.
 */
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

/** Maps the AI SDK's names, for example `openai.responses` to `openai`, and `amazon-bedrock` to `aws.bedrock`. */
export function providerName(provider: string): string {
  const known = NAMES.find(([sdk]) => provider.startsWith(sdk))
  return known?.[1] ?? (provider.split('.')[0] || 'unknown')
}
