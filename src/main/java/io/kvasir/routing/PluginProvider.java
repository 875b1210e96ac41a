package io.kvasir.routing;

import java.util.Collection;

/**
 * Brings plugins of one's own: a class with a public constructor without parameters, named in its jar's {@code
 * META-INF/services/io.kvasir.routing.PluginProvider}. It is found on {@code kvasir.routing.plugin-path} when a node
 * starts.
 *
 * <p>Of Kvasir a jar sees this package, {@code io.kvasir.routing.cost} and {@link io.kvasir.index.Chain}, besides SLF4J
 * and JSpecify; what else it needs it brings itself, and does not share with other jars.
 */
public interface PluginProvider {
  /**
   * The plugins, by names that are nobody else's in their stage. A type's factory makes an instance for each place
   * where a profile mentions it.
   */
  Collection<PluginType<?>> plugins();
}
