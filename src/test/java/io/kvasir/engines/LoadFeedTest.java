package io.kvasir.engines;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What SGLang's {@code /server_info} announces of its load. */
final class LoadFeedTest {
  private static @Nullable LoadFeed of(String page) {
    return LoadFeed.of(URI.create("http://engine:30000"), page.getBytes(UTF_8));
  }

  @Test
  void ranks_haveSocketsInARow_atTheHostOfTheEngine() {
    assertThat(of("""
        {"kv_events":{"endpoint_host":"*","endpoint_port_base":5557,"dp_size":2,"load_endpoint_port_base":5559,
        "load_topic":"load"}}"""))
        .isEqualTo(new LoadFeed(List.of("tcp://engine:5559", "tcp://engine:5560"), "load"));
  }

  @Test
  void rankThatIsAlone_hasOne() {
    assertThat(of("{\"kv_events\":{\"load_endpoint_port_base\":65535,\"load_topic\":\"load\"}}"))
        .isEqualTo(new LoadFeed(List.of("tcp://engine:65535"), "load"));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "", "no page", "[]", "{}", "{\"kv_events\":null}", "{\"kv_events\":{\"endpoint_port_base\":5557}}",
    "{\"kv_events\":{\"load_endpoint_port_base\":\"5558\"}}", "{\"kv_events\":{\"load_endpoint_port_base\":0}}",
    "{\"kv_events\":{\"load_endpoint_port_base\":65535,\"dp_size\":2}}",
    "{\"kv_events\":{\"load_endpoint_port_base\":5558,\"dp_size\":1000000}}",
  })
  void pageWithoutAFeedThatCouldBeRead_announcesNone(String page) {
    assertThat(of(page)).isNull();
  }
}
