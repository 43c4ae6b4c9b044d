import { call, collect, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Tool, textOf, tool } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { memoryBackend } from './memory-backend.ts'
import { type SkillsOptions, skills } from './skills.ts'

const file = (name: string, description: string, body = `Do ${name}.\n`, more = '') =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\n${body}`

const body = '# Baking\n\n  Keep  the\tspaces.\r\n\n---\nAnd the end.\n\n'
const files = {
  'skills/b/SKILL.md': file('bake', 'Bakes bread.', body),
  'skills/a/SKILL.md': file('boil', '"Boils: eggs."'),
}

/** A run with these skills: the model's instructions, the results of its calls, and the warnings. */
async function used(
  given: Readonly<Record<string, string | Uint8Array>>,
  steps: readonly (readonly ScriptStep[])[] = [],
  options: Partial<SkillsOptions> = {},
) {
  const model = scriptedModel([...steps.map((calls) => respond(...calls)), respond(say('Done.'))])
  const middleware = [skills({ backend: memoryBackend(given), ...options })]
  const agent = createAgent({ name: 'cook', model, instructions: 'Cook.', middleware })
  const { result, error, events } = await collect(agent.stream('Go'))
  if (error) throw error
  const results = result?.messages.flatMap((message) =>
    message.role === 'tool' ? [(message.isError ? 'error: ' : '') + textOf(message)] : [],
  )
  const [request] = model.requests
  return { told: request?.instructions, tools: request?.tools, results, warnings: result?.warnings, events, model }
}

test('the instructions list names and descriptions, and the tool returns the body unchanged (N41)', async () => {
  const { told, results, warnings } = await used(files, [[call('skill', { name: 'bake' })]])
  expect(told).toBe(
    'Cook.\n\nThese skills explain how to do certain tasks. Before you start such a task, read its skill with the tool skill.\n- boil: Boils: eggs.\n- bake: Bakes bread.',
  )
  expect(results).toEqual([body])
  expect(warnings).toEqual([])
})

test('for an unknown name it returns an error result with the list (N41)', async () => {
  const { results, tools } = await used(
    files,
    [[call('learn', { name: 'fry' }), call('learn', { name: '__proto__' })]],
    {
      toolName: 'learn',
    },
  )
  expect(tools?.map(({ name }) => name)).toEqual(['learn'])
  expect(results).toEqual([
    'error: there is no skill fry; the skills are: boil, bake',
    'error: there is no skill __proto__; the skills are: boil, bake',
  ])
})

test('without a skill there are neither instructions nor a tool (N41)', async () => {
  const { told, tools, warnings } = await used({ 'skills/README.md': '#', 'skills/c/notes.md': '#' })
  expect([told, tools, warnings]).toEqual(['Cook.', [], []])
})

test('invalid front matter is skipped with a warning event, and the other skills are listed (N42)', async () => {
  const bad = {
    'skills/c/SKILL.md': 'No head.',
    'skills/d/SKILL.md': file('two words', 'x'),
    'skills/e/SKILL.md': '---\nname: e\n---\n',
    'skills/f/SKILL.md': file('f', 'x', '', 'context: spoon\n'),
    'skills/g/SKILL.md': new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xff]),
    'skills/h/SKILL.md': file('h', 'x'.repeat(1_025)),
    'skills/i/SKILL.md/file': 'A folder.',
  }
  const { told, warnings, events } = await used({ ...files, ...bad })
  expect(told?.split('\n').slice(-2)).toEqual(['- boil: Boils: eggs.', '- bake: Bakes bread.'])
  expect(warnings?.map(({ code, source, message }) => [code, source, message.split(' was skipped: ')])).toEqual(
    [
      ['c/SKILL.md', 'it does not begin with a line of three dashes'],
      ['d/SKILL.md', 'its name is missing, or does not match [A-Za-z0-9_-]{1,64}'],
      ['e/SKILL.md', 'its description is missing'],
      ['f/SKILL.md', 'its context is spoon, but only fork is supported'],
      ['g/SKILL.md', 'it is not UTF-8 text'],
      ['h/SKILL.md', 'its description has more than 1024 characters'],
      ['i/SKILL.md', 'skills/i/SKILL.md: is a folder'],
    ].map(([path, problem]) => ['skill-skipped', 'skills', [`skills/${path}`, problem]]),
  )
  expect(events.filter(({ type }) => type === 'warning')).toHaveLength(7)
})

test('a byte order mark is not part of a skill, and a description is one line (N41)', async () => {
  const text = `\ufeff${file('bake', '>\n  Bakes\n\n  bread.')}`
  const { told, results } = await used({ 'skills/b/SKILL.md': text }, [[call('skill', { name: 'bake' })]])
  expect(told?.split('\n').at(-1)).toBe('- bake: Bakes bread.')
  expect(results).toEqual(['Do bake.\n'])
})

test('of two skills with one name the first folder wins, then the first by name, each with a warning (N42)', async () => {
  const { results, warnings } = await used(
    {
      'skills/z/SKILL.md': file('bake', 'Later.', 'Later.'),
      'skills/y/SKILL.md': file('bake', 'Sooner.', 'Sooner.'),
      'mine/x/SKILL.md': file('bake', 'Mine.', 'Mine.'),
    },
    [[call('skill', { name: 'bake' })]],
    { folders: ['mine/', 'skills', 'none'] },
  )
  expect(results).toEqual(['Mine.'])
  expect(warnings?.map(({ message }) => message)).toEqual([
    'skills/y/SKILL.md was skipped: a skill with the name bake is in mine/x/SKILL.md',
    'skills/z/SKILL.md was skipped: a skill with the name bake is in mine/x/SKILL.md',
    'none was skipped: none: does not exist',
  ])
})

const forked = { 'skills/a/SKILL.md': file('taste', 'Tastes.', 'You taste.', 'context: fork\n') }

test('context: fork runs the skill as a nested agent and returns its answer (N43)', async () => {
  const model = scriptedModel([
    respond(call('skill', { name: 'taste', request: 'The soup.' }, { id: 'c1' })),
    respond(say('Salty.')),
    respond(call('skill', { name: 'taste' })),
    respond(say('Sweet.')),
    respond(say('Done.')),
  ])
  const agent = createAgent({ name: 'cook', model, middleware: [skills({ backend: memoryBackend(forked) })] })
  const { result, events } = await collect(agent.stream('Go'))
  expect(result?.messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))).toEqual([
    'Salty.',
    'Sweet.',
  ])
  expect(model.requests[1]).toMatchObject({
    instructions: 'You taste.',
    tools: [],
    messages: [{ role: 'user', content: 'The soup.' }],
  })
  expect(model.requests[3]?.messages).toMatchObject([{ content: 'Do what your instructions describe.' }])
  const paths = events.flatMap(({ type, path }) => (type === 'run-start' && path ? [path] : []))
  expect(paths[0]).toEqual([{ agent: 'taste', callId: 'c1' }])
})

test('a user’s own agent runs a fork; its interrupts appear in the outer run, and the answers are passed back (N43, L9)', async () => {
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute(_, { answers }) {
      if (answers.length === 0) throw interrupt('Salt?')
      return `Answered ${JSON.stringify(answers)}.`
    },
  }) as Tool
  const inner = scriptedModel([respond(call('ask')), respond(say('Salty.'))])
  const model = scriptedModel([respond(call('skill', { name: 'taste' })), respond(say('Done.'))])
  const fork: SkillsOptions['fork'] = ({ name, body }, { maxSteps }) =>
    createAgent({ name, model: inner, instructions: body, tools: [ask], maxSteps })
  const agent = createAgent({ name: 'cook', model, middleware: [skills({ backend: memoryBackend(forked), fork })] })
  const first = await agent.run('Go')
  expect(first.interrupts).toMatchObject([{ payload: 'Salt?' }])
  const answers = { [first.interrupts?.[0]?.id ?? '']: 'yes' }
  const last = await agent.resume(JSON.parse(JSON.stringify(first.checkpoint)), answers).result
  expect(last.messages.at(-2)).toMatchObject({ role: 'tool', content: [{ text: 'Salty.' }] })
})

test('changes that a fork makes to its skill or to the set-up affect no later call (P15, N43)', async () => {
  const model = scriptedModel([
    respond(call('skill', { name: 'taste' })),
    respond(call('skill', { name: 'taste' })),
    respond(say('Done.')),
  ])
  const bodies: string[] = []
  const fork: SkillsOptions['fork'] = (skill, setup) => {
    bodies.push(skill.body)
    for (const handed of [skill, setup, setup.tools])
      expect(() => Object.assign(handed, { body: 'Mine.', maxSteps: 1 })).toThrow(TypeError)
    return createAgent({ name: skill.name, model: scriptedModel([respond(say('Salty.'))]) })
  }
  const agent = createAgent({ name: 'cook', model, middleware: [skills({ backend: memoryBackend(forked), fork })] })
  expect((await agent.run('Go')).text).toBe('Done.')
  expect(bodies).toEqual(['You taste.', 'You taste.'])
})

test('a plain skill only reads; one that forks may do anything (N43)', async () => {
  const backend = memoryBackend({ ...files, ...forked, 'skills/a/SKILL.md': forked['skills/a/SKILL.md'] })
  let effect: Tool['effect']
  const agent = createAgent({
    model: scriptedModel([respond(say('Done.'))]),
    middleware: [
      skills({ backend }),
      { name: 'looking', beforeAgent: ({ tools }) => void (effect = tools[0]?.effect) },
    ],
  })
  await agent.run('Go')
  const of = (name: string) => typeof effect === 'function' && effect({ name })
  expect([of('bake'), of('taste'), of('nobody')]).toEqual(['read', 'external', 'read'])
})

test('invalid options are a ConfigError, and no folder leads outside (A2, N40)', () => {
  for (const options of [undefined, {}])
    expect(() => skills(options as never)).toThrow(expect.objectContaining({ option: 'backend' }))
  expect(() => skills({ backend: memoryBackend(), folders: [] })).toThrow(
    expect.objectContaining({ option: 'folders' }),
  )
  expect(() => skills({ backend: memoryBackend(), folders: ['../skills'] })).toThrow(
    expect.objectContaining({ option: 'folders' }),
  )
})
