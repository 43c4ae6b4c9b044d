/** The linter of `npm run lint:prose`: textlint with the rules of `.textlintrc.json`, and with three parts that only this repository has. */

import { join } from 'node:path'
import { createLinter, loadTextlintrc } from 'textlint'
import { firstMinute } from './first-minute.ts'
import { ruleNumbers } from './rule-numbers.ts'
import { TypeScriptProse } from './typescript-prose.ts'

export async function proseLinter() {
  const config = await loadTextlintrc({ configFilePath: join(import.meta.dirname, '.textlintrc.json') })
  const rules = [
    { ruleId: 'rule-numbers', rule: ruleNumbers },
    { ruleId: 'first-minute', rule: firstMinute },
  ]
  const plugin = { pluginId: 'typescript', plugin: { Processor: TypeScriptProse } }
  return createLinter({
    descriptor: config.shallowMerge({
      rules: [...config.rule.toKernelRulesFormat(), ...rules],
      plugins: [...config.plugin.toKernelPluginsFormat(), plugin],
    }),
  })
}
