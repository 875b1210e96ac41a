package io.kvasir.routing;

import java.util.Collection;

/**
 * The entry point of a jar with plugins: a class with a public constructor without parameters, named in the jar's
 * {@code META-INF/services/io.kvasir.routing.PluginProvider}. A node loads the jars on {@code
 * kvasir.routing.plugin-path} when it starts.
 *
 * <p>A jar's classes can use this package, {@code io.kvasir.routing.cost}, {@link io.kvasir.index.Chain}, SLF4J and
 * JSpecify. Other dependencies must be in the jar, which does not share them with other jars.
 */
public interface PluginProvider {
  /**
   * The plugins, with names that are unique in their stage. A type's factory makes an instance for each mention in a
   * profile.
   */
  Collection<PluginType<?>> plugins();
}
