/** Instructions on demand: the model is told which there are, and reads those it needs. */

import {
  type Agent,
  type AgentSetup,
  agentTool,
  ConfigError,
  checkOptions,
  createAgent,
  type Middleware,
  type Tool,
  type ToolContext,
  tool,
} from '@meanwhile/core'
import { checkPath } from './check-options.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'
import { inputSchema, optional, text } from './input-schema.ts'
import { readSkills, type Skill } from './skills/read-skills.ts'

export type { Skill } from './skills/read-skills.ts'

export interface SkillsOptions {
  /** Where the folders are. */
  readonly backend: FileBackend
  /** Folders of folders with a `SKILL.md`; of two skills of one name the one in the first counts. Default `['skills']`. */
  readonly folders?: readonly string[]
  /** Default `skill`. */
  readonly toolName?: string
  /**
   * Makes the agent that runs a skill with `context: fork`. Default: one with the model of the run, the skill as its instructions, and
   * neither tools nor middleware, so that nothing goes round what stands round the tools of the run.
   */
  readonly fork?: (skill: Skill, setup: AgentSetup) => Agent
}

/**
 * The instructions of the run list names and descriptions; a tool gives the body of a skill, unaltered, or, of one with
 * `context: fork`, the answer of an agent that runs it. Skills are read once per run and again on resume.
 *
 * What cannot be read as a skill, and the second of a name, is left out with a warning `skill-skipped`.
 */
export function skills(options: SkillsOptions): Middleware {
  checkBackend(options?.backend)
  checkOptions('skills', options, { backend: '', folders: 'paths', toolName: '', fork: '' })
  const { backend, folders = ['skills'], toolName = 'skill', fork = plainFork } = options
  if (!Array.isArray(folders) || folders.length === 0) throw new ConfigError('folders', 'must name one folder or more')
  const paths = folders.map((folder: string) => checkPath('folders', folder))
  return {
    name: 'skills',
    async beforeAgent(setup, run) {
      const known = await readSkills(backend, paths, run)
      if (known.size === 0) return
      const list = [...known.values()].map(({ name, description }) => `- ${name}: ${description}`)
      const told = `These skills tell how to do certain work. Before you do such work, read its skill with the tool ${toolName}.\n${list.join('\n')}`
      return {
        ...setup,
        instructions: [setup.instructions, told].filter((part) => part !== '').join('\n\n'),
        tools: [...setup.tools, skillTool(toolName, known, fork)],
      }
    },
  }
}

function plainFork({ name, body }: Skill, { model }: AgentSetup): Agent {
  return createAgent({ name, model, instructions: body })
}

function skillTool(name: string, skills: ReadonlyMap<string, Skill>, fork: NonNullable<SkillsOptions['fork']>): Tool {
  return tool({
    name,
    description: 'Gives the instructions of a skill; of some skills it does the work and gives the answer.',
    input: inputSchema({
      name: text('The name of the skill.', { minLength: 1 }),
      request: optional(text('What is to be done, for a skill that does the work itself.'), ''),
    }),
    effect: (input) => (skills.get(input.name)?.fork ? 'external' : 'read'),
    async execute({ name, request }, context) {
      const skill = skills.get(name)
      if (!skill) throw new Error(`there is no skill ${name}; there are ${[...skills.keys()].join(', ')}`)
      if (!skill.fork) return skill.body
      return await forked(fork(skill, setupOf(context)), skill, request, context)
    },
  }) as Tool
}

function setupOf({ run }: ToolContext): AgentSetup {
  if (run) return run.setup
  throw new Error('without a run no skill can be run')
}

async function forked(agent: Agent, skill: Skill, request: string, context: ToolContext): Promise<unknown> {
  const { name, description } = skill
  const { execute } = agentTool(agent, { name, description })
  return await execute?.({ request: request === '' ? 'Do what your instructions say.' : request }, context)
}
