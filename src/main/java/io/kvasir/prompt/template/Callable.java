package io.kvasir.prompt.template;

import org.jspecify.annotations.Nullable;

/** A function or method that a template can call. */
@FunctionalInterface
interface Callable {
  @Nullable Object call(RenderContext render, Arguments arguments);
}
