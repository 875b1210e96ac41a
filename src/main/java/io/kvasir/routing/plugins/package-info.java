/**
 * The built-in plugins of profiles: preparers, filters, scorers and pickers. Each is one small class and one line in
 * {@link io.kvasir.routing.plugins.BuiltInPlugins}, named after the plugin's name in profiles. What several share:
 * {@code Bitmaps} of slots, {@code LabelSelector}, {@code LoadableTokens} of a cache layer, and values that are derived
 * once per change of membership ({@code PerMembershipAndKey}).
 */
@NullMarked
package io.kvasir.routing.plugins;

import org.jspecify.annotations.NullMarked;
