package io.kvasir.routing;

import org.jspecify.annotations.Nullable;

/**
 * A setting of a profile that is another than in the profile of the same name that ships.
 *
 * @param setting its path in the profile, such as {@code score.kappa}
 * @param shipped its value there, as a plain object; null when it is not set there
 * @param value its value here, as a plain object; null when it is not set here
 */
public record SettingDifference(String setting, @Nullable Object shipped, @Nullable Object value) {}
