import { expect, test, vi } from 'vitest'
import type { Driver, Load } from '../peers/driver.ts'
import { ai } from '../peers/drivers/ai.ts'
import { langchain } from '../peers/drivers/langchain.ts'
import { openaiAgents } from '../peers/drivers/openai-agents.ts'
import { calls, NONE_RAN } from './rows/failed-response.ts'

/** These libraries have drop-ins, so they are installed here. */
const load: Load = (specifier) => import(specifier)

const loops: Readonly<Record<string, Driver>> = { 'AI SDK': ai, LangChain: langchain, 'OpenAI Agents': openaiAgents }

test.each(Object.entries(loops))(
  '%s runs no call of a response that fails, on any wire',
  async (_, driver) => {
    vi.stubEnv('OPENAI_AGENTS_DISABLE_TRACING', '1')
    Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)
    expect(await calls(await driver(load))).toBe(NONE_RAN)
  },
  120_000,
)
