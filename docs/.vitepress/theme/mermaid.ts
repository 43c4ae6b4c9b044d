/** Draws a diagram of a page. Mermaid is only loaded on pages that have one; on GitHub the same code block is drawn by GitHub. */

import { useData } from 'vitepress'
import { defineComponent, h, onMounted, ref, useId, watch } from 'vue'

/** The theme of Mermaid, and the colours of the page in it. */
const LIGHT = ['neutral', '#ffffff', '#f6f6f7'] as const
const DARK = ['dark', '#1b1b1f', '#202127'] as const

export const Mermaid = defineComponent({
  props: { code: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData()
    const id = `mermaid${useId().replaceAll(/\W/g, '')}`
    const svg = ref('')
    async function draw() {
      const { default: mermaid } = await import('mermaid')
      const [theme, edgeLabelBackground, clusterBkg] = isDark.value ? DARK : LIGHT
      mermaid.initialize({ startOnLoad: false, theme, themeVariables: { edgeLabelBackground, clusterBkg } })
      svg.value = (await mermaid.render(id, decodeURIComponent(props.code))).svg
    }
    onMounted(() => watch(isDark, draw, { immediate: true }))
    return () => h('div', { class: 'mermaid', innerHTML: svg.value })
  },
})
