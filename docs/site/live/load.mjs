// SPDX-License-Identifier: BSL-1.0
// The scene of scene.hpp, as an object. Its times are in milliseconds.

/// Loads the module from the address that build gave it. Afterwards it needs no network.
export async function loadScene(address) {
  const module = await WebAssembly.compile(await (await fetch(address)).arrayBuffer())
  return sceneOf(await WebAssembly.instantiate(module, importsOf(module)))
}

/// Emscripten's module asks for what a process needs at its end. The page has none.
function importsOf(module) {
  const imports = {}
  for (const each of WebAssembly.Module.imports(module)) {
    imports[each.module] ??= {}
    imports[each.module][each.name] = () => { throw new Error(`the live picture has called ${each.name}`) }
  }
  return imports
}

function sceneOf({ exports: library }) {
  library._initialize?.()
  library.live_begin()
  return {
    begin: library.live_begin,
    advance: library.live_advance,
    start: library.live_start,
    stop: library.live_stop,
    kill: library.live_kill,
    freeze: (replica, now) => library.live_freeze(replica, now ? 1 : 0),
    cut: (replica, now) => library.live_cut(replica, now ? 1 : 0),
    state() {
      const begin = library.live_state()
      const memory = new Uint8Array(library.memory.buffer)
      return JSON.parse(new TextDecoder().decode(memory.subarray(begin, memory.indexOf(0, begin))))
    },
  }
}
