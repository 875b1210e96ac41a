package io.kvasir.app.admin;

import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import java.time.Duration;
import java.util.Map;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads durations as configuration files spell them: {@code 30 s}, {@code 1h}, {@code 2d}. */
final class DurationConverter implements ITypeConverter<Duration> {
  @Override
  public Duration convert(String text) {
    try {
      Duration duration = ConfigFactory.parseMap(Map.of("duration", text)).getDuration("duration");
      if (!duration.isNegative()) {
        return duration;
      }
    } catch (ConfigException malformed) {
      // Refused below, like a negative one.
    }
    throw new TypeConversionException("'" + text + "' is no duration such as 30s, 1h or 2d");
  }
}
