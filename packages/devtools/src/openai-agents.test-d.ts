import { addTraceProcessor } from '@openai/agents'
import { agentsTraceProcessor } from './openai-agents.ts'

addTraceProcessor(agentsTraceProcessor())
addTraceProcessor(agentsTraceProcessor({ captureContent: true }))

// @ts-expect-error: it is not an option
agentsTraceProcessor({ content: true })
