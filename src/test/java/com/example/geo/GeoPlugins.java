package com.example.geo;

import io.kvasir.routing.PluginProvider;
import io.kvasir.routing.PluginType;
import java.util.Collection;
import java.util.List;

/** Names the plugins of this jar. */
public final class GeoPlugins implements PluginProvider {
  @Override
  public Collection<PluginType<?>> plugins() {
    return List.of(
        PluginType.preparer("client-coordinates", ClientCoordinates::new),
        PluginType.scorer("proximity", Proximity::new));
  }
}
