/** Draws a diagram of a page. Mermaid is only loaded on pages that have one; on GitHub the same code block is drawn by GitHub. */

import { useData } from 'vitepress'
import { defineComponent, h, onMounted, ref, useId, watch } from 'vue'

/** The colours of the page and of its text: the background, boxes, groups, borders, and lines. */
const LIGHT = { page: '#ffffff', box: '#eef1fb', group: '#f6f6f7', border: '#a9b7e8', line: '#67676c', text: '#3c3c43' }
const DARK = { page: '#1b1b1f', box: '#2a3050', group: '#202127', border: '#5b6fc0', line: '#98989f', text: '#dfdfd6' }

/** A diagram has its natural size; the style of the page makes it smaller where it does not fit. */
const SIZE = { useMaxWidth: false }

function settingsOf({ page, box, group, border, line, text }: typeof LIGHT) {
  return {
    startOnLoad: false,
    theme: 'base',
    themeVariables: {
      background: page,
      primaryColor: box,
      primaryBorderColor: border,
      primaryTextColor: text,
      lineColor: line,
      textColor: text,
      edgeLabelBackground: page,
      clusterBkg: group,
      clusterBorder: border,
      noteBkgColor: group,
      noteBorderColor: border,
      noteTextColor: text,
      dropShadow: 'none',
      useGradient: false,
      fontSize: '15px',
    },
    flowchart: SIZE,
    sequence: SIZE,
    state: SIZE,
  } as const
}

export const Mermaid = defineComponent({
  props: { code: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData()
    const id = `mermaid${useId().replaceAll(/\W/g, '')}`
    const svg = ref('')
    async function draw() {
      const { default: mermaid } = await import('mermaid')
      mermaid.initialize(settingsOf(isDark.value ? DARK : LIGHT))
      svg.value = (await mermaid.render(id, decodeURIComponent(props.code))).svg
    }
    onMounted(() => watch(isDark, draw, { immediate: true }))
    return () =>
      h('div', { class: 'mermaid', role: 'group', 'aria-label': 'Diagram', tabindex: 0, innerHTML: svg.value })
  },
})
