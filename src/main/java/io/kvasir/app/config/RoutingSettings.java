package io.kvasir.app.config;

import io.kvasir.lmcache.LmCacheSettings;
import io.kvasir.semantic.SemanticSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Settings of routing. The profiles are proven when these are read, and compiled for use when a node starts.
 *
 * @param profile name of the default profile
 * @param pluginPath jars with plugins, and directories of such jars
 * @param semanticClusters the semantic clusters, and the endpoint that embeds texts
 * @param lmcache the connection to LMCache, null without a controller
 * @param reloadInterval how often the files are checked for changes, zero for never
 */
public record RoutingSettings(
    String profile,
    List<Path> pluginPath,
    SemanticSettings semanticClusters,
    @Nullable LmCacheSettings lmcache,
    Duration reloadInterval) {}
