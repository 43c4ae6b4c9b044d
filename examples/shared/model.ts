/** The model of the examples: the real one if its key is in the environment; without a key, a mocked endpoint that follows a script. */

import Anthropic from '@anthropic-ai/sdk'
import type { Pace, ScriptResponse } from '@meanwhile/assemble/testing'
import type { Model } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'

/** Whether there is a real model. */
export const hasKey = (): boolean => Boolean(process.env.OPENAI_API_KEY || process.env.ANTHROPIC_API_KEY)

/** Reads `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`; `OPENAI_MODEL` and `ANTHROPIC_MODEL` select other models than the default ones. */
export function realModel(): Model | undefined {
  const { OPENAI_API_KEY, OPENAI_MODEL, ANTHROPIC_API_KEY, ANTHROPIC_MODEL } = process.env
  if (OPENAI_API_KEY) return openai({ client: new OpenAI(), model: OPENAI_MODEL ?? 'gpt-5.1' })
  if (ANTHROPIC_API_KEY) return anthropic({ client: new Anthropic(), model: ANTHROPIC_MODEL ?? 'claude-sonnet-4-6' })
  return undefined
}

/** The real model, or one that follows the script. */
export function modelOr(script: readonly ScriptResponse[], pace?: Pace): Model {
  const real = realModel()
  if (real) return real
  const { fetch } = mockModels({ script, ...(pace && { pace }) })
  return openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'scripted-1' })
}
