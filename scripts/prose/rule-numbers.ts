/** A textlint rule: the id of a behaviour, such as `B12`, belongs in a test title, not on a page or in a comment. */

import type { TextlintRuleReporter } from '@textlint/types'

const ID = /\b(?:[A-R]|T|CC|DU|MA|TH|UI)\d{1,2}\b/g

/** The quirks have ids of the same form. Decisions are for contributors. */
const WITH_IDS = /(?:^|\/)docs\/(?:quirks\.md$|decisions\/)/

export const ruleNumbers: TextlintRuleReporter = ({ getFilePath, report, RuleError }) => {
  if (WITH_IDS.test(getFilePath() ?? '')) return {}
  return {
    Str(node) {
      const { parent } = node
      if (parent && 'kind' in parent && parent.kind === 'string') return
      for (const { 0: id, index } of node.value.matchAll(ID)) {
        report(node, new RuleError(`${id}: the id of a behaviour belongs in a test title`, { index }))
      }
    },
  }
}
