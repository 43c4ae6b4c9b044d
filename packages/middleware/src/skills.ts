/** The middleware `skills()`: instructions on demand. The model gets a list of skills and reads those it needs. */

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
import { branded } from '@meanwhile/core/calls'
import { checkPath } from './check-options.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'
import { inputSchema, optional, text } from './input-schema.ts'
import { readSkills, type Skill } from './skills/read-skills.ts'

export type { Skill } from './skills/read-skills.ts'

/** The options of `skills`. */
export interface SkillsOptions {
  /** The files of the skills. */
  readonly backend: FileBackend
  /**
   * Folders that contain folders with a `SKILL.md`. If two skills have the same name, the one from the first folder is
   * used. Default `['skills']`.
   */
  readonly folders?: readonly string[]
  /** The name of the tool. Default `skill`. */
  readonly toolName?: string
  /**
   * Creates the agent that runs a skill with `context: fork`. Default: an agent with the model of the run, the skill as
   * its instructions, and neither tools nor middleware, so that it cannot bypass the middleware of the run's tools.
   */
  readonly fork?: (skill: Skill, setup: AgentSetup) => Agent
}

/**
 * Adds a list of skill names and descriptions to the instructions of the run, and a tool. The tool returns the text of
 * a skill, unchanged, or runs a skill with `context: fork` in an agent and returns its answer. Skills are read once per
 * run and again on resume.
 *
 * A file that is not a valid skill, and the second skill with one name, are skipped with a warning `skill-skipped`.
 */
export function skills(options: SkillsOptions): Middleware {
  checkBackend(options?.backend)
  checkOptions('skills', options, { backend: '', folders: 'paths', toolName: '', fork: '' })
  const { backend, folders = ['skills'], toolName = 'skill', fork = plainFork } = options
  if (!Array.isArray(folders) || folders.length === 0) throw new ConfigError('folders', 'must name at least one folder')
  const paths = folders.map((folder: string) => checkPath('folders', folder))
  return branded('middleware', {
    name: 'skills',
    async beforeAgent(setup, run) {
      const known = await readSkills(backend, paths, run)
      if (known.size === 0) return
      const list = [...known.values()].map(({ name, description }) => `- ${name}: ${description}`)
      const told = `These skills explain how to do certain tasks. Before you start such a task, read its skill with the tool ${toolName}.\n${list.join('\n')}`
      return {
        ...setup,
        instructions: [setup.instructions, told].filter((part) => part !== '').join('\n\n'),
        tools: [...setup.tools, skillTool(toolName, known, fork)],
      }
    },
  })
}

function plainFork({ name, body }: Skill, { model }: AgentSetup): Agent {
  return createAgent({ name, model, instructions: body })
}

function skillTool(name: string, skills: ReadonlyMap<string, Skill>, fork: NonNullable<SkillsOptions['fork']>): Tool {
  return tool({
    name,
    description: 'Returns the instructions of a skill; some skills do the work themselves and return the result.',
    input: inputSchema({
      name: text('The name of the skill.', { minLength: 1 }),
      request: optional(text('What to do, for a skill that does the work itself.'), ''),
    }),
    effect: (input) => (skills.get(input.name)?.fork ? 'external' : 'read'),
    async execute({ name, request }, context) {
      const skill = skills.get(name)
      if (!skill) throw new Error(`there is no skill ${name}; the skills are: ${[...skills.keys()].join(', ')}`)
      if (!skill.fork) return skill.body
      return await forked(fork(skill, setupOf(context)), skill, request, context)
    },
  }) as Tool
}

function setupOf({ run }: ToolContext): AgentSetup {
  if (run) return run.setup
  throw new Error('running a skill requires a run')
}

async function forked(agent: Agent, skill: Skill, request: string, context: ToolContext): Promise<unknown> {
  const { name, description } = skill
  const { execute } = agentTool(agent, { name, description })
  return await execute?.({ request: request === '' ? 'Do what your instructions describe.' : request }, context)
}
