package io.kvasir.http.server;

import org.apache.pekko.Done;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.Outlet;
import org.apache.pekko.stream.SourceShape;
import org.apache.pekko.stream.stage.AbstractOutHandler;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.apache.pekko.stream.stage.GraphStage;
import org.apache.pekko.stream.stage.GraphStageLogic;
import org.apache.pekko.util.ByteString;

/**
 * What Pekko takes for the body of a streamed answer: it emits nothing. Being asked for the first element
 * means that the head has left, for the renderer asks only after its head was taken; then the relay may write.
 * Its completion makes Pekko end the body.
 */
final class StreamingBodySource extends GraphStage<SourceShape<ByteString>> {
  private final Outlet<ByteString> out = Outlet.create("RelaySource.out");
  private final SourceShape<ByteString> shape = SourceShape.of(out);
  private final SocketSink sink;

  StreamingBodySource(SocketSink sink) {
    this.sink = sink;
  }

  @Override
  public SourceShape<ByteString> shape() {
    return shape;
  }

  @Override
  public GraphStageLogic createLogic(Attributes attributes) {
    return new GraphStageLogic(shape) {
      private final AsyncCallback<Done> end = createAsyncCallback(done -> completeStage());

      {
        setHandler(
            out,
            new AbstractOutHandler() {
              @Override
              public void onPull() {
                sink.open(end);
              }
            });
      }

      @Override
      public void postStop() {
        sink.close();
      }
    };
  }
}
