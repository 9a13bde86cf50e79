package charter;

import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/**
 * Starts a node of Elasticsearch with the modules of its home, in the module of its server. The start that it ships with
 * confines what its code may do, by an agent that is not published.
 */
public class Start {
    public static void main(String[] arguments) {
        try {
            run();
        } catch (Exception | LinkageError failure) {
            failure.printStackTrace();
            // Threads of the node may have begun.
            System.exit(1);
        }
    }

    private static void run() throws Exception {
        LogConfigurator.configureESLogging();
        LogConfigurator.setNodeName("node");
        Settings home = Settings.builder().put("path.home", System.getProperty("es.path.home")).build();
        Path config = Path.of(System.getProperty("es.path.conf"));
        var environment = InternalSettingsPreparer.prepareEnvironment(home, Map.of(), config, () -> "node");
        var modules = PluginsLoader.loadModulesBundles(environment.modulesDir());
        new Node(environment, PluginsLoader.createPluginsLoader(modules, Set.of(), Map.of())).start();
        Thread.currentThread().join();
    }
}
