package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.command.VersionCommand;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The version of the build, wherever one is said; of classes that Maven has not built there is none. */
final class BuildVersionTest {
  private static final Pattern PROJECT = Pattern.compile("<artifactId>kvasir</artifactId>\\s*<version>([^<]+)<");

  @Test
  void version_isTheBuilds_inTheClusterToo() throws Exception {
    assumeTrue(BuildVersion.ofBuild() != null, "compiled without Maven");
    Matcher pom = PROJECT.matcher(Files.readString(Path.of("pom.xml")));
    assertThat(pom.find()).isTrue();

    assertThat(BuildVersion.ofBuild()).isEqualTo(pom.group(1)).matches("\\d+\\.\\d+\\.\\d+.*");
    assertThat(new VersionCommand().getVersion()[0]).startsWith("kvasir " + pom.group(1) + ", JDK ");
    assertThat(KvasirConfig.of(ConfigFactory.empty()).source().platform().getString("pekko.cluster.app-version"))
        .isEqualTo(pom.group(1));
  }
}
