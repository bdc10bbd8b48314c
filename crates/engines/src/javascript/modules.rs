//! Modules: how the engine is told what a name leads to and what is there. Which file that is decides `js/modules.js`, as
//! Node does; this part compiles texts and hands them on.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Array, Ctx, Error, Function, Module, Object, Persistent, Result, Value};

/// What `js/modules.js` gives. It goes before the engine does.
#[derive(Clone, Default)]
pub(super) struct Hooks(Rc<RefCell<Option<Functions>>>);

#[derive(Clone)]
struct Functions {
    resolve: Persistent<Function<'static>>,
    load: Persistent<Function<'static>>,
}

impl Hooks {
    /// Has the engine ask these functions.
    pub(super) fn install<'js>(&self, ctx: &Ctx<'js>, hooks: &Object<'js>) -> Result<()> {
        *self.0.borrow_mut() = Some(Functions {
            resolve: Persistent::save(ctx, hooks.get::<_, Function<'js>>("resolve")?),
            load: Persistent::save(ctx, hooks.get::<_, Function<'js>>("load")?),
        });
        Ok(())
    }

    /// Holds nothing of the engine any more.
    pub(super) fn let_go(&self) {
        *self.0.borrow_mut() = None;
    }

    fn functions(&self) -> Result<Functions> {
        self.0.borrow().clone().ok_or(Error::Unknown)
    }
}

impl Resolver for Hooks {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        self.functions()?.resolve.restore(ctx)?.call((base, name))
    }
}

impl Loader for Hooks {
    /// The text of the module, and what it finds in `import.meta`.
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let loaded: Array<'js> = self.functions()?.load.restore(ctx)?.call((name,))?;
        let source: String = loaded.get(0)?;
        let module = Module::declare(ctx.clone(), name, source)?;
        let (meta, given) = (module.meta()?, loaded.get::<Object<'js>>(1)?);
        for property in given.props::<String, Value<'js>>() {
            let (key, value) = property?;
            meta.set(key, value)?;
        }
        Ok(module)
    }
}

/// Reads a text as an ES module, under a name that its errors have. Once that is done its imports are asked for, and that
/// whoever asks for this must refuse: a module that was compiled to be looked at is not one to be found.
pub(super) fn read<'js>(ctx: Ctx<'js>, source: String, name: String) -> Result<()> {
    Module::declare(ctx, name, source).map(drop)
}

/// What a text comes to that is one expression, under a name that its errors have.
pub(super) fn compile<'js>(ctx: Ctx<'js>, source: String, name: String) -> Result<Value<'js>> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(name);
    ctx.eval_with_options(source, options)
}
