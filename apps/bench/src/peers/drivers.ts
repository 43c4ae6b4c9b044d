/** The driver of each library. */

import type { PeerName } from '../modes.ts'
import type { Driver } from './driver.ts'
import { ai } from './drivers/ai.ts'
import { langchain } from './drivers/langchain.ts'
import { librechat } from './drivers/librechat.ts'
import { mastra } from './drivers/mastra.ts'
import { openaiAgents } from './drivers/openai-agents.ts'

export const DRIVERS: Readonly<Record<PeerName, Driver>> = {
  ai,
  '@openai/agents': openaiAgents,
  langchain,
  '@mastra/core': mastra,
  '@librechat/agents': librechat,
}
